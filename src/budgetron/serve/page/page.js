// The page of `budgetron serve`: server-sent events, drawn as SVG. Nothing is loaded from elsewhere.
// Texts of users (labels, columns, values) become text nodes only, never markup.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);
let state = null;
let cursor = null; // of the pointer over the error chart, from 0 to 1

// ---- text ---------------------------------------------------------------------------------------

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function count(value) {
  return Math.abs(value) < 100000 ? whole.format(value) : compact.format(value);
}

function short(value) {
  if (value === 0 || value === null || value === undefined) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return compact.format(value);
  return Number(value.toPrecision(size >= 100 ? 4 : 3)).toString();
}

function percent(value) {
  return (100 * value).toFixed(value > 0 && value < 0.0995 ? 1 : 0) + " %";
}

function bytes(value) {
  const units = ["B", "kB", "MB", "GB"];
  let i = 0;
  while (value >= 1000 && i < 3) { value /= 1000; i += 1; }
  return Number(value.toPrecision(value < 100 ? 3 : 4)) + " " + units[i];
}

function time(seconds) {
  if (!seconds) return "–";
  return seconds < 1 ? short(seconds * 1000) + " ms" : short(seconds) + " s";
}

function cell(value) {
  if (value === null || value === undefined) return "missing";
  if (typeof value === "number") return String(Number(value.toPrecision(6)));
  const text = String(value);
  return text.length > 40 ? text.slice(0, 39) + "…" : text;
}

// ---- elements -----------------------------------------------------------------------------------

function element(name, options = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

function shape(name, options = {}, text = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(options)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}

function empty(box, why) {
  box.replaceChildren(element("p", { class: "empty" }, why));
}

function legend(id, ...entries) {
  $(id).replaceChildren(...entries.map(([kind, text, value]) => {
    const line = element("span", {}, element("i", { class: "key " + kind }), text);
    if (value !== undefined) line.append(" ", element("b", {}, value));
    return line;
  }));
}

// ---- charts -------------------------------------------------------------------------------------

function nice(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 3, 4, 5, 8, 10].map((x) => x * power).find((x) => x >= most * 0.999);
}

// Lines over x in a box. series: [{kind, points: [[x, y]]}]
function chart(box, { series, from, to, most, label, x = count, marks = [], limit = null }) {
  const width = Math.max(box.clientWidth, 100), height = box.clientHeight;
  const left = 52, right = 8, top = 8, bottom = 20;
  const top_value = most ?? nice(Math.max(0, limit ?? 0, ...series.flatMap((s) => s.points.map((p) => p[1]))));
  const span = to - from || 1;
  const at = (value) => left + ((value - from) / span) * (width - left - right);
  const up = (value) => height - bottom - (Math.min(value, top_value) / top_value) * (height - top - bottom);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const steps = height > 200 ? 4 : 2;
  for (let i = 0; i <= steps; i += 1) {
    const value = (top_value * i) / steps;
    svg.append(shape("line", { class: "axis", x1: left, x2: width - right, y1: up(value), y2: up(value) }));
    svg.append(shape("text", { x: left - 6, y: up(value) + 4, "text-anchor": "end" }, label(value)));
  }
  const ticks = width > 600 ? 5 : 3;
  for (let i = 0; i < ticks; i += 1) {
    const value = from + (span * i) / (ticks - 1);
    const anchor = i === 0 ? "start" : i === ticks - 1 ? "end" : "middle";
    svg.append(shape("text", { x: at(value), y: height - 4, "text-anchor": anchor }, x(value)));
  }
  for (const [value, kind] of marks) {
    if (value < from || value > to) continue;
    const line = shape("line", { class: kind, x1: at(value), x2: at(value), y1: top, y2: height - bottom });
    line.append(shape("title", {}, `${kind} at row ${whole.format(value)}`));
    svg.append(line);
  }
  if (limit !== null) {
    svg.append(shape("line", { class: "limit", x1: left, x2: width - right, y1: up(limit), y2: up(limit) }));
  }
  for (const { kind, points } of series) {
    if (points.length === 1) {
      svg.append(shape("circle", { class: "dot", cx: at(points[0][0]), cy: up(points[0][1]), r: 3 }));
    }
    const path = points.map(([a, b], i) => `${i ? "L" : "M"}${at(a).toFixed(1)} ${up(b).toFixed(1)}`).join("");
    svg.append(shape("path", { class: kind, d: path }));
  }
  box.replaceChildren(svg);
  return { svg, at, width, height, left, right, top, bottom };
}

// The mean of a sum over about a fortieth of the points, at each of them.
function smoothed(points, column) {
  const window = Math.max(1, Math.round(points.length / 40));
  const found = [];
  for (let i = 0; i < points.length; i += 1) {
    const before = i >= window ? points[i - window] : [0, 0, 0, 0, 0, 0, 0];
    const rows = points[i][0] - before[0];
    if (rows > 0) found.push([points[i][0], (points[i][column] - before[column]) / rows]);
  }
  return found;
}

function drawError(model) {
  const regression = model.task === "regression";
  const format = regression ? short : percent;
  $("error-title").textContent = regression ? "Absolute error over time" : "Mistakes over time";
  const { base, points, marks } = model.history;
  if (points.length < 1) {
    legend("error-legend");
    $("error-note").textContent = "";
    empty($("error"), "No row has been learned here yet.");
    return;
  }
  const lines = ["model", "majority", "last"].map((kind, i) => ({
    kind,
    points: smoothed(points, 2 + i).map(([a, b]) => [base + a, b]),
  }));
  const last = (line) => format(line.points[line.points.length - 1][1]);
  legend(
    "error-legend",
    ["model", "model", last(lines[0])],
    ["majority", regression ? "mean so far" : "commonest label", last(lines[1])],
    ["last", "last label", last(lines[2])],
    ...(marks.some((m) => m[1] === "drift") ? [["drift", "drift"]] : []),
    ...(marks.some((m) => m[1] !== "drift") ? [["units", "change of units"]] : []),
  );
  const to = base + points[points.length - 1][0];
  const series = [lines[1], lines[2], lines[0]];
  const made = chart($("error"), { series, from: base, to, label: format, marks });
  const first = lines[0].points[0], n = Math.max(1, Math.round(points.length / 40));
  const step = points.length > n ? points[n][0] - points[0][0] : first[0] - base;
  $("error-note").textContent = `each point is of about ${count(Math.max(step, 1))} rows; x: rows learned`;
  if (cursor !== null) showCursor(made, lines, base, to, format);
}

function showCursor(made, lines, from, to, format) {
  const wanted = from + cursor * (to - from);
  const nearest = (line) => line.points.reduce((a, b) =>
    Math.abs(b[0] - wanted) < Math.abs(a[0] - wanted) ? b : a);
  const row = nearest(lines[0])[0];
  const at = made.at(row);
  made.svg.append(shape("line", { class: "cursor", x1: at, x2: at, y1: made.top, y2: made.height - made.bottom }));
  const [model, majority, last] = lines.map((line) => format(nearest(line)[1]));
  $("error-note").textContent =
    `row ${whole.format(row)}: model ${model}, commonest label ${majority}, last label ${last}`;
}

function drawSeconds(model) {
  const seconds = model.seconds;
  const over = (column) => seconds.map((s, i) => [i - seconds.length + 1, s[column]]);
  legend("rate-legend",
    ["model", "learned", short(model.learned_per_second)],
    ["majority", "answered", short(model.answered_per_second)]);
  legend("latency-legend",
    ["model", "median", time(model.latency_p50)], ["last", "99 %", time(model.latency_p99)]);
  if (seconds.length < 2) {
    empty($("rate"), "A moment, please.");
    empty($("latency"), "A moment, please.");
    return;
  }
  const box = { from: 1 - seconds.length, to: 0, x: (v) => (v === 0 ? "now" : `${Math.round(v)} s`) };
  chart($("rate"), { ...box, label: short,
    series: [{ kind: "majority", points: over(0) }, { kind: "model", points: over(1) }] });
  if (!model.latency_p50) {
    empty($("latency"), "Nothing has been asked yet.");
    return;
  }
  chart($("latency"), { ...box, label: (v) => short(v * 1000) + " ms",
    series: [{ kind: "last", points: over(3) }, { kind: "model", points: over(2) }] });
}

function drawSizes(model) {
  const { base, points } = model.history;
  for (const [id, column, label, limit] of [
    ["stored", 5, count, typeof model.budget === "number" ? model.budget : null],
    ["memory", 6, bytes, model.budget_bytes],
  ]) {
    if (points.length < 1) { empty($(id), "No row has been learned here yet."); continue; }
    const line = points.map((p) => [base + p[0], p[column]]);
    const now = ["model", "now", label(line[line.length - 1][1])];
    legend(id + "-legend", now, ...(limit === null ? [] : [["limit", "budget", label(limit)]]));
    const to = line[line.length - 1][0];
    chart($(id), { series: [{ kind: "model", points: line }], from: base, to, label, limit });
  }
}

function drawCalibration(model) {
  $("calibration-box").hidden = model.task === "regression";
  const box = $("calibration");
  if (!model.calibration.length) { empty(box, "No prediction has been followed by its label yet."); return; }
  const lowest = model.classes && model.classes.length === 2 ? 0.5 : 0;
  const made = chart(box, {
    series: [{ kind: "majority", points: [[lowest, lowest], [1, 1]] },
      { kind: "model", points: model.calibration.map((b) => [b[1], b[2]]) }],
    from: lowest, to: 1, most: 1, label: percent, x: percent });
  const up = (v) => made.height - made.bottom - v * (made.height - made.top - made.bottom);
  for (const [share, sure, right] of model.calibration) {
    const dot = shape("circle", { class: "dot", cx: made.at(sure), cy: up(right), r: 2.5 + 9 * Math.sqrt(share) });
    dot.append(shape("title", {}, `${percent(share)} of the rows: sure ${percent(sure)}, right ${percent(right)}`));
    made.svg.append(dot);
  }
}

function bars(box, rows, format, why) {
  if (!rows.length) { empty(box, why); return; }
  const most = Math.max(...rows.map((r) => r[1])) || 1;
  box.replaceChildren(...rows.map(([name, value]) => {
    const svg = shape("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" });
    svg.append(shape("rect", { class: "back", width: 100, height: 12 }),
      shape("rect", { width: Math.max(0.5, (100 * value) / most), height: 12 }));
    return element("div", {},
      element("span", { class: "name", title: String(name) }, String(name)), svg,
      element("span", { class: "value" }, format(value)));
  }));
}

function drawMistakes(model) {
  const box = $("mistakes");
  if (!model.last_mistakes.length) {
    empty(box, "None has been looked at yet: about one a second is explained.");
    return;
  }
  const regression = model.task === "regression";
  const heads = ["time", "row", "predicted", "label", "what moved the decision"];
  const numbers = { row: true };
  const head = element("thead", {}, element("tr", {}, ...heads.map((h) =>
    element("th", numbers[h] ? { class: "number" } : {}, h))));
  const body = element("tbody", {}, ...model.last_mistakes.map((m) => {
    const sure = m.probability === null ? "" : ` (${percent(m.probability)})`;
    const show = (v) => (regression ? short(v) : cell(v));
    const why = element("td", {}, ...m.columns.map((c) => element("span", { class: "why" },
      `${c.column} = ${cell(c.value)} `,
      element("span", { class: c.change >= 0 ? "plus" : "minus" }, (c.change >= 0 ? "+" : "−") + short(Math.abs(c.change))))));
    const clock = new Date(m.seconds * 1000).toLocaleTimeString([], { hour12: false });
    return element("tr", {},
      element("td", {}, clock),
      element("td", { class: "number", "data-head": "row" }, whole.format(m.row)),
      element("td", { "data-head": "predicted" }, show(m.prediction) + sure),
      element("td", { "data-head": "label" }, show(m.label)), why);
  }));
  box.replaceChildren(element("table", {}, head, body));
}

// ---- the page -----------------------------------------------------------------------------------

function tiles(model) {
  const regression = model.task === "regression";
  const { points } = model.history;
  const lately = points.length ? smoothed(points, 2).pop()[1] : null;
  const guess = points.length ? smoothed(points, 3).pop()[1] : null;
  const format = regression ? short : percent;
  const of = model.budget_bytes ? `of ${bytes(model.budget_bytes)}, ${percent(model.memory_bytes / model.budget_bytes)}` : "";
  const entries = [
    [regression ? "error lately" : "mistakes lately", lately === null ? "–" : format(lately),
      guess === null ? "" : `${regression ? "mean" : "commonest label"} ${format(guess)}`],
    ["rows learned", count(model.rows),
      `${count(model.rows_here)} here, ${short(model.learned_per_second)} per second`],
    ["rows answered", count(model.answered), `${short(model.answered_per_second)} per second`],
    ["answer time", time(model.latency_p50), model.latency_p99 ? `99 %: ${time(model.latency_p99)}` : ""],
    ["stored examples", count(model.stored), typeof model.budget === "number" ? `of ${count(model.budget)}` : ""],
    ["memory", bytes(model.memory_bytes), of],
    ["drifts", count(model.drifts), `${count(model.unit_changes)} changes of units`],
  ];
  if (state.learns || !model.source || model.source.labels) {
    entries.push(["wait for a label", count(model.waiting.rows),
      `${count(model.waiting.matched)} came, ${count(model.waiting.unmatched)} had no row`]);
  }
  if (model.source) {
    const { lag, unit, rows, bad, ended } = model.source;
    const waits = unit === "bytes" ? bytes : count;
    entries.push(["wait in the source", lag === null ? (ended ? "ended" : "–") : waits(lag),
      `${count(rows)} rows learned, ${count(bad)} bad messages`]);
  }
  $("tiles").replaceChildren(...entries.map(([name, value, more]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, more)))));
}

function problems(model) {
  const found = [];
  if (model.failing) found.push(`Nothing can be learned: ${model.failing}.`);
  if (model.stale) found.push(`No checkpoint can be written: ${model.stale}.`);
  if (model.source && model.source.problem) found.push(`The source is not read: ${model.source.problem}.`);
  if (model.waiting.lost) found.push(`${count(model.waiting.lost)} rows that waited for a label were lost in a crash.`);
  if (model.warning) found.push(model.warning);
  $("problems").hidden = !found.length;
  $("problems").replaceChildren(...found.map((text) => element("li", {}, text)));
}

function read({ name, labels }) {
  if (!labels) return name;
  return name === labels ? `labels of ${labels}` : `${name} with the labels of ${labels}`;
}

function chosen() {
  const wanted = decodeURIComponent(location.hash.slice(1));
  return state.models.find((m) => m.name === wanted) || state.models[0];
}

function draw() {
  if (!state || !state.models.length) return;
  const model = chosen();
  $("main").hidden = false;
  document.title = `${model.name} – budgetron`;
  $("models").replaceChildren(...state.models.map((m) => {
    const link = element("a", { href: "#" + encodeURIComponent(m.name) }, m.name);
    if (m === model) link.setAttribute("aria-current", "page");
    return link;
  }));
  const budget = model.budget === null ? "" : `, budget ${model.budget}`;
  const from = [...(state.learns ? ["what it is told"] : []), ...(model.source ? [read(model.source)] : [])];
  const learns = from.length ? `learns ${from.join(" and ")}` : "does not learn";
  $("about").textContent = `${model.estimator}${budget}, ${model.task}; ${learns}`;
  problems(model);
  tiles(model);
  drawError(model);
  drawSeconds(model);
  drawSizes(model);
  drawCalibration(model);
  $("mix-box").hidden = model.task === "regression";
  bars($("mix"), model.mix.slice(0, 10).map(([label, , share]) => [label, share]), percent,
    "No row has been learned here yet.");
  bars($("features"), model.features.slice(0, 10), short, "No decision has been looked at yet.");
  drawMistakes(model);
}

function say(text, kind) {
  $("link").textContent = text;
  $("link").className = kind;
}

const events = new EventSource("events");
events.addEventListener("state", (event) => {
  state = JSON.parse(event.data);
  say("live", "on");
  draw();
});
events.addEventListener("end", () => say("the server has stopped", "off"));
events.addEventListener("error", () => say("no connection; trying again", "off"));
window.addEventListener("hashchange", draw);
window.addEventListener("resize", draw);
$("error").addEventListener("pointermove", (event) => {
  const box = $("error").getBoundingClientRect();
  cursor = Math.min(1, Math.max(0, (event.clientX - box.left - 52) / (box.width - 60)));
  if (state) drawError(chosen());
});
$("error").addEventListener("pointerleave", () => { cursor = null; if (state) drawError(chosen()); });
