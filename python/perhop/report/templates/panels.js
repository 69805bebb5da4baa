// Figures of panels answer: values at a cursor that all panels share, zoom by dragging, lines that can be
// hidden. uPlot draws. Without a script, and on paper, the picture stays as it is.
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const inkOf = (line) => color(line.color === null ? "--ink" : `--c${line.color % 8}`);
// as in perhop.plot.style
const dashes = [[], [8, 3], [1.6, 2.2], [9, 3, 1.6, 3]];
const inWords = (value) => value === null || value === undefined ? "–" : String(Number(value.toPrecision(4)));
const element = (tag, kind, text = "") => Object.assign(document.createElement(tag), { className: kind, textContent: text });

// how high the name of a line is, px: what can be pressed (WCAG 2.2, 2.5.8)
const NAME = 24;
document.documentElement.style.setProperty("--name", `${NAME}px`);
for (const figure of document.querySelectorAll("figure[data-panels]")) {
  const told = JSON.parse(figure.dataset.panels), time = told.time, plots = [];
  const box = element("div", "panels"), readout = element("p", "readout quiet"), spoken = element("p", "spoken");
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  const hint = matchMedia("(hover: none)").matches ? "Tap for values." : "Point for values, drag to zoom, double-click for all. Keys: ← → + − Esc.";
  box.setAttribute("aria-label", `${figure.querySelector("figcaption b").textContent} Arrow keys move the cursor, plus and minus zoom, Escape shows all.`);
  spoken.setAttribute("aria-live", "polite");
  const sync = uPlot.sync(figure.id);

  // its place among the times; null while no pointer is over a panel
  let cursor = null;
  const show = (at) => {
    cursor = at ?? null;
    readout.textContent = cursor === null ? hint : atTime();
    for (const one of plots) one.labels.forEach((label, place) => {
      label.lastChild.textContent = cursor === null ? "" : inWords(one.panel.lines[place].values[cursor]);
    });
  };
  const atTime = () => `${Number(time[cursor].toPrecision(6))} s`;
  const moveTo = (at) => {
    plots.forEach((one) => one.plot.setCursor({ left: one.plot.valToPos(time[at], "x"), top: 1 }));
    show(at);
    spoken.textContent = [atTime(), ...plots.flatMap((one) => [one.panel.label, ...one.labels.map((label) => [...label.children].map((part) => part.textContent).join(" "))])].join("; ");
  };

  // each name stands where its line ends, so far from the others that it can be read
  const place = (one) => {
    const wide = matchMedia("(min-width: 40.01rem)").matches, [, end] = range();
    let last = time.findLastIndex((value) => value <= end);
    const top = one.stage.offsetTop + one.plot.over.offsetTop, most = one.plot.over.clientHeight;
    const each = one.panel.lines.map((line, number) => {
      let at = last;
      while (at > 0 && line.values[at] === null) at--;
      return [one.labels[number], one.plot.valToPos(line.values[at] ?? 0, "y")];
    }).sort((a, b) => b[1] - a[1]);
    let below = most + NAME;
    for (const one of each) below = one[1] = Math.min(Math.max(one[1], 0), below - NAME);
    let above = -NAME;
    for (const one of each.reverse()) above = one[1] = Math.max(one[1], above + NAME);
    for (const [label, height] of each) label.style.top = wide ? `${top + height - NAME / 2}px` : "";
  };

  const all = [0, time[time.length - 1]];
  const range = () => { const { min, max } = plots[0].plot.scales.x; return [min ?? all[0], max ?? all[1]]; };
  const zoom = (min, max) => plots.forEach((one) => one.plot.setScale("x", { min: Math.max(all[0], min), max: Math.min(all[1], max) }));

  told.panels.forEach((panel, number) => {
    const last = number === told.panels.length - 1;
    const part = element("div", "panel"), stage = element("div", "plot"), names = element("div", "names");
    const font = "12px system-ui, sans-serif";
    const axis = { stroke: () => color("--quiet"), font, grid: { stroke: () => color("--faint"), width: 1 }, ticks: { show: false } };
    const plot = new uPlot({
      width: 600, height: 100, padding: [8, 20, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: sync.key }, drag: { x: true, y: false }, points: { size: 7 }, y: false },
      scales: { x: { time: false, range: (_, min, max) => min === max ? all : [min, max] }, y: { range: (_, min, max) => [0, max > 0 ? 1.06 * max : 1] } },
      axes: [{ ...axis, size: last ? 26 : 6, gap: 4, values: (_, marks) => marks.map((one) => last ? `${one} s` : "") }, { ...axis, size: 46, gap: 4, space: 26 }],
      series: [{}, ...panel.lines.map((line) => ({
        label: line.name, stroke: () => inkOf(line), width: line.color === null && line.dash ? 1 : 1.8, dash: dashes[line.dash % 4],
        paths: panel.steps ? uPlot.paths.stepped({ align: -1 }) : undefined, points: { show: false },
      }))],
      hooks: {
        drawClear: [(own) => {
          const { left, top, width, height } = own.bbox, end = own.valToPos(told.warmup, "x", true);
          own.ctx.save();
          own.ctx.fillStyle = color("--faint");
          own.ctx.globalAlpha = 0.6;
          if (end > left) own.ctx.fillRect(left, top, Math.min(end - left, width), height);
          own.ctx.restore();
        }],
        draw: [() => plots[number] && place(plots[number])],
        setCursor: [(own) => show(own.cursor.idx)],
      },
    }, [time, ...panel.lines.map((line) => line.values)], stage);
    const labels = panel.lines.map((line, at) => {
      const label = element("button", "name"), sample = element("i", "");
      label.type = "button";
      label.setAttribute("aria-pressed", "true");
      sample.style.borderTop = `2px ${["solid", "dashed", "dotted", "dashed"][line.dash % 4]} ${line.color === null ? "var(--ink)" : `var(--c${line.color % 8})`}`;
      label.append(sample, element("span", "", line.name), element("b", ""));
      label.addEventListener("click", () => {
        const shown = label.getAttribute("aria-pressed") !== "true";
        label.setAttribute("aria-pressed", String(shown));
        plot.setSeries(at + 1, { show: shown });
      });
      return label;
    });
    names.append(...labels);
    part.append(element("p", "axis", panel.label), stage, names);
    box.append(part);
    plots.push({ plot, panel, labels, stage, high: Math.max(number ? 116 : 190, NAME * panel.lines.length + (number ? 20 : 30)) });
    sync.sub(plot);
  });

  box.addEventListener("keydown", (event) => {
    if (event.target !== box) return;
    const [min, max] = range(), at = cursor;
    const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
    const factor = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
    if (step) {
      const first = time.findIndex((one) => one >= min), last = time.findLastIndex((one) => one <= max);
      moveTo(Math.min(Math.max((at ?? first - 1) + step, first), last));
    } else if (factor) {
      const middle = at === null ? (min + max) / 2 : time[at], half = factor * (max - min) / 2;
      if (half > time[1] - time[0]) zoom(middle - half, middle + half);
    } else if (event.key === "Escape") {
      zoom(...all);
    } else return;
    // once uPlot has zoomed, which it does after this
    if (!step && at !== null) queueMicrotask(() => moveTo(at));
    event.preventDefault();
  });

  const fit = () => plots.forEach((one) => one.plot.setSize({ width: one.stage.clientWidth, height: one.high + (one === plots.at(-1) ? 20 : 0) }));
  figure.prepend(box, readout, spoken);
  figure.classList.add("answers");
  readout.textContent = hint;
  fit();
  zoom(...all);
  new ResizeObserver(fit).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plots.forEach((one) => one.plot.redraw()));
}
