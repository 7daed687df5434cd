// A click on a column's head sorts its table by that column; a second click turns the order.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => {
    const cell = row.cells[column];
    const number = parseFloat(cell.dataset.value);
    return Number.isNaN(number) ? (cell.dataset.value === "" ? Infinity : cell.textContent) : number;
  };
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const compare = (a, b) => {
      const [x, y] = [key(a, column), key(b, column)];
      const order = typeof x === "number" && typeof y === "number"
        ? (x < y ? -1 : x > y ? 1 : 0) : String(x).localeCompare(String(y));
      return down ? -order : order;
    };
    [...body.rows].sort(compare).forEach((row) => body.append(row));
  }));
}
