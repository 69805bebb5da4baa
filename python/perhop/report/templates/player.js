// Plays a run over its topology: how busy links were, what waited, and packets where they were traced. Nothing moves unasked.
const stage = document.getElementById("play");
if (stage && stage.dataset.run) {
  const run = JSON.parse(stage.dataset.run), name = document.querySelector("svg").namespaceURI;
  const xs = run.nodes.map((node) => node.x), ys = run.nodes.map((node) => node.y);
  const wide = Math.max(...xs) - Math.min(...xs) || 1, high = Math.max(...ys) - Math.min(...ys);
  const W = 860, H = Math.min(170 + 70 * high, 560);
  const at = (node) => [80 + (W - 160) * (node.x - Math.min(...xs)) / wide, H / 2 - (high ? (H - 90) * (node.y - (Math.max(...ys) + Math.min(...ys)) / 2) / high : 0)];
  const draw = (kind, place, attributes, text) => {
    const one = document.createElementNS(name, kind);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    if (text !== undefined) one.textContent = text;
    return place.appendChild(one);
  };
  const svg = draw("svg", stage.querySelector(".stage"), { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "The network at one instant" });
  const most = Math.max(1, ...run.links.map((link) => Math.max(...link.waiting)));
  const links = run.links.map((link) => {
    const a = at(run.nodes[link.from]), b = at(run.nodes[link.to]);
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1, side = 6;
    const off = [-(b[1] - a[1]) / length * side, (b[0] - a[0]) / length * side];
    const from = [a[0] + off[0], a[1] + off[1]], to = [b[0] + off[0], b[1] + off[1]];
    const line = draw("line", svg, { x1: from[0], y1: from[1], x2: to[0], y2: to[1], stroke: "var(--c0)", "stroke-linecap": "round" });
    const start = 44 / length, queue = [from[0] + (to[0] - from[0]) * start, from[1] + (to[1] - from[1]) * start];
    const down = off[1] >= 0, foot = queue[1] + off[1] * 0.8, tall = 40 / most;
    if (link.room && link.room <= 2 * most) {
      const y = foot + (down ? 1 : -1) * tall * link.room;
      draw("line", svg, { x1: queue[0] + off[0] - 9, x2: queue[0] + off[0] + 9, y1: y, y2: y, stroke: "var(--ink)" });
      draw("text", svg, { x: queue[0] + off[0] - 12, y: y + 3, "text-anchor": "end", "font-size": 10, fill: "var(--ink)" }, link.room);
    }
    const bar = draw("rect", svg, { x: queue[0] - 4 + off[0], width: 8, fill: "var(--c1)" });
    const told = draw("text", svg, { x: queue[0] + off[0] + 7, y: foot + (down ? 12 : -4), "font-size": 10, fill: "var(--ink)" });
    return { ...link, from, to, line, bar, told, foot, down, tall, queue: queue[0] + off[0] };
  });
  const crowd = draw("g", svg, {});
  for (const node of run.nodes) {
    const [x, y] = at(node);
    draw("rect", svg, { x: x - 36, y: y - 12, width: 72, height: 24, rx: node.router ? 12 : 3, fill: "var(--page)", stroke: "var(--ink)" });
    draw("text", svg, { x, y: y + 4, "text-anchor": "middle", "font-size": 11, fill: "var(--ink)" }, node.name);
  }
  const packets = run.packets && run.packets[0].length ? run.packets : null;
  const begin = packets ? packets[0][0] : run.times[0];
  const end = packets ? Math.max(...packets[1]) : run.times[run.times.length - 1];
  const colors = ["var(--c2)", "var(--c4)", "var(--c1)"], dots = [], falls = (end - begin) / 60;
  const show = (time) => {
    let i = run.times.findIndex((one) => one >= time);
    if (i < 0) i = run.times.length - 1;
    for (const link of links) {
      link.line.setAttribute("stroke-width", 1 + link.busy[i] / 18);
      link.line.setAttribute("opacity", 0.25 + 0.6 * link.busy[i] / 100);
      const height = link.tall * link.waiting[i];
      link.bar.setAttribute("y", link.foot - (link.down ? 0 : height));
      link.bar.setAttribute("height", height);
      link.told.textContent = link.waiting[i] || "";
    }
    let used = 0;
    const dot = (x, y, r, fill) => {
      const one = dots[used] || (dots[used] = draw("circle", crowd, {}));
      for (const [key, value] of Object.entries({ cx: x, cy: y, r, fill })) one.setAttribute(key, value);
      one.removeAttribute("display");
      used++;
    };
    if (packets) {
      for (let k = 0; k < packets[0].length && packets[0][k] <= time; k++) {
        if (packets[1][k] <= time) continue;
        const link = links[packets[2][k]], part = (time - packets[0][k]) / (packets[1][k] - packets[0][k]);
        dot(link.from[0] + (link.to[0] - link.from[0]) * part, link.from[1] + (link.to[1] - link.from[1]) * part, packets[4][k] ? 2.2 : 4, colors[packets[3][k]]);
      }
      for (let k = 0; k < run.drops[0].length && run.drops[0][k] <= time; k++) {
        const part = (time - run.drops[0][k]) / falls, link = links[run.drops[1][k]];
        if (part < 1) dot(link.queue + 26 * part, link.foot + (link.down ? 1 : -1) * (link.tall * (link.room || 0) * (link.room <= 2 * most) + 30 * part), 4, "var(--ink)");
      }
    }
    for (let k = used; k < dots.length; k++) dots[k].setAttribute("display", "none");
    label.textContent = `${time.toFixed(packets ? 3 : 1)} s`;
  };
  const slider = stage.querySelector("input"), button = stage.querySelector("button"), label = stage.querySelector("output");
  slider.min = begin; slider.max = end; slider.step = (end - begin) / 2000; slider.value = begin;
  slider.addEventListener("input", () => show(Number(slider.value)));
  let playing = 0;
  const lasts = packets ? 60 : 20, stop = () => { cancelAnimationFrame(playing); playing = 0; button.textContent = "Play"; };
  button.addEventListener("click", () => {
    if (playing) return stop();
    button.textContent = "Pause";
    if (Number(slider.value) >= end) slider.value = begin;
    const first = Number(slider.value), clock = performance.now();
    const step = (now) => {
      const time = first + (now - clock) / 1000 * (end - begin) / lasts;
      slider.value = time;
      show(Math.min(time, end));
      if (time < end) playing = requestAnimationFrame(step); else stop();
    };
    playing = requestAnimationFrame(step);
  });
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) button.hidden = true;
  stage.hidden = false;
  show(begin);
}
