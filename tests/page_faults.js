// What a reader cannot read on this page as it is now: a list of "kind: where", empty on a good one.
(() => {
  const found = [], print = matchMedia("print").matches;
  const say = (kind, one, more = "") => found.push(`${kind}: ${more} ${one.tagName} ${one.closest("[id]")?.id ?? ""} ${one.textContent.trim().slice(0, 40)}`);
  const shown = (one) => one.checkVisibility({ checkVisibilityCSS: true });
  const all = (what, inside = document) => [...inside.querySelectorAll(what)];
  const width = document.documentElement.clientWidth;

  if (document.documentElement.scrollWidth > width) found.push(`wide: ${document.documentElement.scrollWidth} px of ${width}`);
  if (print) for (const one of all("table").filter(shown))
    if (one.getBoundingClientRect().right > width + 1) say("cut", one);
  if (print) for (const one of all("h1, h2, h3"))
    if (getComputedStyle(one).breakAfter !== "avoid") say("orphan", one);

  for (const one of all('a[href^="#"]'))
    if (!document.getElementById(decodeURIComponent(one.hash.slice(1)))) say("target", one, one.hash);
  const ids = all("[id]").filter((one) => !one.closest("svg"));
  for (const one of ids) if (ids.some((other) => other !== one && other.id === one.id)) say("twice", one);

  // WCAG 2.1, 1.4.3: the contrast of text is 4.5 to 1 or more
  const color = (text) => text.match(/[\d.]+/g)?.map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((one) => one / 255)
    .map((one) => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const back = color(getComputedStyle(one).backgroundColor);
      if (back && (back[3] ?? 1) > 0.5) return back;
    }
    return [255, 255, 255];
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(one) || one.closest("script, style, title, desc, defs")) continue;
    const svg = one.closest("svg"), style = getComputedStyle(one);
    const ink = color(svg ? style.fill : style.color);
    if (ink && contrast(ink, behind(svg ?? one)) < 4.5) say("contrast", one, contrast(ink, behind(svg ?? one)).toFixed(2));
  }

  for (const svg of all("figure svg").filter(shown)) {
    const frame = svg.getBoundingClientRect();
    if (!print) for (const one of all("text", svg))
      if (parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a < 10.9 && one.textContent.trim() && Math.abs(one.getScreenCTM().b) < 0.01) say("small", one);
    const texts = all("text", svg).filter((one) => one.textContent.trim()).map((one) => [one, one.getBoundingClientRect()]);
    for (const [one, box] of texts)
      if (box.right > frame.right + 2 || box.left < frame.left - 2 || box.bottom > frame.bottom + 2 || box.top < frame.top - 2) say("outside", one);
    // the frame of slanted text is mostly empty
    const straight = texts.filter(([one]) => { const at = one.getScreenCTM(); return Math.min(Math.abs(at.a), Math.abs(at.b)) < 0.01; });
    straight.forEach(([one, a], place) => straight.slice(0, place).forEach(([other, b]) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 0 && down > 0 && across * down > 0.25 * Math.min(a.width * a.height, b.width * b.height)) say("overlap", one, other.textContent.trim());
    }));
    for (const one of all("path, rect, polygon", svg)) {
      const style = getComputedStyle(one), fill = color(style.fill), box = one.getBoundingClientRect();
      if (fill && (fill[3] ?? 1) * style.fillOpacity > 0.5 && box.width * box.height > 0.3 * frame.width * frame.height && contrast(fill, behind(svg)) > 3) say("patch", one);
    }
  }
  return found;
})()
