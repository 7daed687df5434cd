// Reads a model that `budgetron export MODEL --to json` wrote: in a page (a script that sets
// `budgetron`) or in Node (require). const model = budgetron.read(JSON.parse(text)), then
// model.predict(row), model.probabilities(row) or model.decide(row). A row is a list of numbers, NaN
// or null for a missing value, or an object by the names of features.
(function (root) {
  "use strict";
  function kernel(k, z, values, places, size) {  // size: sum of z^2, or of |z|
    const far = k.kind === "rbf" || k.kind === "laplacian";
    let sum = far ? size : 0;
    values.forEach((s, j) => {
      const v = z[places ? places[j] : j];
      sum += k.kind === "rbf" ? s * (s - 2 * v) : far ? Math.abs(v - s) - Math.abs(v) : s * v;
    });
    if (far) return Math.exp(-k.gamma * Math.max(0, sum));
    return k.kind === "sigmoid" ? Math.tanh(k.gamma * sum + k.coef0) : (k.gamma * sum + k.coef0) ** k.degree;
  }
  function linked(link, f, best) {  // a decision to probabilities
    if (f.length === 1) {
      const [slope, offset, steep] = (best ? link.above : link.below)[0], d = Math.abs(f[0]);
      const z = Math.max(0, Math.min(steep * d, Math.max(slope * d + offset, 1e-3 * slope * d)));
      const p = Math.max(1 / (1 + Math.exp(-z)), 0.5 + Number.EPSILON / 2), q = Math.exp(-z) / (1 + Math.exp(-z));
      return best ? [q, p] : [p, q];
    }
    const others = (list) => list.filter((_, k) => k !== best), second = Math.max(...others(f));
    const logs = f.map((v, k) => {
      const [slope, offset] = (k === best ? link.above : link.below)[k];
      const z = k === best ? slope * (v - second) + offset : slope * (v - f[best]) - offset;
      return Math.min(z, 0) - Math.log1p(Math.exp(-Math.abs(z)));
    });
    const shares = logs.map((v) => Math.exp(v - Math.max(...logs))), all = shares.reduce((a, b) => a + b);
    let total = shares[best] / all, level = total;  // no class is likelier than the predicted one
    others(shares).sort((a, b) => b - a).forEach((v, i) => { total += v / all; level = Math.max(level, total / (i + 2)); });
    const held = shares.map((v) => Math.min(v / all, level));
    held[best] = Math.max(level, Math.max(...others(held)) * (1 + Number.EPSILON));
    return held;
  }
  function read(m) {
    if (m.format !== "budgetron-predict" || m.version !== 1) throw new Error("not a model that this reads");
    const u = m.units, clip = u.clip === null ? Infinity : u.clip;
    const show = (row) => {
      const given = Array.isArray(row) || ArrayBuffer.isView(row) ? Array.from(row) : m.features.map((name) => row[name]);
      if (given.length !== m.features.length) throw new Error(`a row has ${m.features.length} numbers, not ${given.length}`);
      const x = given.map((v) => (v === null || v === undefined ? NaN : v));
      const filled = u.missing ? x.map((v, j) => (Number.isNaN(v) ? u.missing[j] : v)) : x;
      const all = u.flagged ? filled.concat(x.map((v) => Number(Number.isNaN(v)))) : filled;
      return all.map((v, j) => u.stretch[j] * Math.min(clip, Math.max(-clip, (v - u.center[j]) * u.inverse[j])));
    };
    const decide = (row) => {
      const z = show(row), f = m.intercept.slice();
      const add = (value, coefs) => coefs.forEach((c, k) => { f[k] += value * c; });
      if (m.frequencies) m.frequencies[0].forEach((_, i, { length }) => {
        const angle = z.reduce((sum, v, j) => sum + v * m.frequencies[j][i], 0);
        add(Math.cos(angle), m.coefs[i]), add(Math.sin(angle), m.coefs[length + i]);
      });
      else {
        const size = z.reduce((sum, v) => sum + (m.kernel.kind === "laplacian" ? Math.abs(v) : v * v), 0);
        m.examples.values.forEach((v, i) => add(kernel(m.kernel, z, v, m.examples.places && m.examples.places[i], size), m.coefs[i]));
      }
      if (m.straight) z.forEach((v, j) => add(v, m.straight[j]));
      return f;
    };
    const best = (f) => (f.length > 1 ? f.indexOf(Math.max(...f)) : Number(m.classes.length > 1 && f[0] >= 0));
    const predict = (row) => (m.classes ? m.classes[best(decide(row))] : decide(row)[0]);
    const probabilities = (row) => { const f = decide(row); return m.classes.length > 1 ? linked(m.link, f, best(f)) : [1]; };
    return { decide, predict, probabilities };
  }
  root.budgetron = Object.assign(root.budgetron || {}, { read });
  if (typeof module !== "undefined") module.exports = root.budgetron;
})(typeof globalThis !== "undefined" ? globalThis : this);
