// Columns of a table as the numbers that a model takes, for a model that was learned from a table:
// const x = budgetron.encode(document, row), then model.predict(x). `document` is the parsed JSON; a
// row is an object by columns: numbers, booleans, Dates or ISO text (UTC), words; null is a gap. The
// features are those of Python's TableEncoder, also of words, which are hashed.
(function (root) {
  "use strict";
  const M64 = (1n << 64n) - 1n;
  const mix = (h) => {
    h = ((h ^ (h >> 30n)) * 0xBF58476D1CE4E5B9n) & M64;
    h = ((h ^ (h >> 27n)) * 0x94D049BB133111EBn) & M64;
    return h ^ (h >> 31n);
  };
  function bucket(text, column) {
    let sum = 0n, power = 1n;
    for (const byte of new TextEncoder().encode(text)) {
      sum = (sum + BigInt(byte + 1) * power) & M64;
      power = (power * 0x9E3779B97F4A7C15n) & M64;
    }
    return Number(mix(sum ^ BigInt(column.seed)) % BigInt(column.others));
  }
  function encode(m, row) {
    const x = new Array(m.features.length).fill(0), table = m.table;
    for (const c of table.columns) {
      const value = row[c.name], marks = c.kind === "category" && table.marks.some((t) => c.categories.includes(t));
      const text = value === null || value === undefined ? "" : String(value).trim();
      const gap = table.gaps.includes(text) || (!marks && table.marks.includes(text));
      const put = (place, v) => { x[c.start + place] = v; };
      if (c.kind === "number") {
        const v = gap ? NaN : Number(typeof value === "string" && c.decimal === "," ? text.replace(",", ".") : value);
        put(0, !Number.isFinite(v) ? (c.fill === null ? NaN : c.fill) : v);
      } else if (c.kind === "boolean") {
        const word = text.toLowerCase(), yes = word === "1" || table.yes.includes(word);
        const known = yes || word === "0" || table.no.includes(word);
        put(0, gap || !known ? (c.fill === null ? NaN : c.fill) : Number(yes));
      } else if (c.kind === "date") {
        const iso = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?$/.test(text);
        const zoned = iso && text.length > 10 ? text.replace(" ", "T") + "Z" : text;
        const ms = gap ? NaN : typeof value === "string" ? Date.parse(zoned) : Number(value);
        const day = Math.floor(ms / 86400000), date = new Date(day * 86400000);
        const shares = { hour: ms / 86400000 - day, weekday: (((day + 3) % 7) + 7) % 7 / 7,
          month: (date.getUTCMonth() + (date.getUTCDate() - 1) / 31) / 12 };
        const lost = Number.isNaN(ms), none = c.fill === null ? NaN : 0;
        put(0, lost ? (c.fill === null ? NaN : c.fill) : (ms - c.origin / 1000) / 86400000);
        c.parts.slice(1).forEach((part, i) => {
          put(2 * i + 1, lost ? none : Math.sin(2 * Math.PI * shares[part]));
          put(2 * i + 2, lost ? none : Math.cos(2 * Math.PI * shares[part]));
        });
      } else if (c.kind === "category") {
        const known = c.categories.indexOf(text), k = c.categories.length;
        put(gap ? k : known >= 0 ? known : k + 1 + bucket(text, c), 1);
      } else if (!gap) {
        const counts = new Map();
        for (const word of text.toLowerCase().split(/[^\p{L}\p{N}]+/u)) {
          if (word) counts.set(bucket(word, c), (counts.get(bucket(word, c)) || 0) + 1);
        }
        const length = Math.hypot(...counts.values());
        counts.forEach((count, place) => put(place, count / length));
      }
    }
    return x;
  }

  root.budgetron = Object.assign(root.budgetron || {}, { encode });
  if (typeof module !== "undefined") module.exports = root.budgetron;
})(typeof globalThis !== "undefined" ? globalThis : this);
