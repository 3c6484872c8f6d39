/// Searching and sorting the lists; the page is whole without it.
enum PageScript {
  static let text = """
    for (const table of document.querySelectorAll("table.list")) {
      const body = table.tBodies[0], rows = [...body.rows];
      const box = document.createElement("input");
      box.type = "search";
      box.placeholder = "Search these " + rows.length;
      box.setAttribute("aria-label", box.placeholder);
      box.oninput = () => {
        const words = box.value.toLowerCase().split(/\\s+/);
        for (const row of rows) {
          const told = row.textContent.toLowerCase();
          row.hidden = !words.every(word => told.includes(word));
        }
      };
      table.parentNode.before(box);
      [...table.tHead.rows[0].cells].forEach((head, index) => {
        let turn = 1;
        head.dataset.k = index;
        head.tabIndex = 0;
        head.title = "Sort";
        const key = row => row.cells[index].dataset.v;
        const sort = () => {
          rows.sort((a, b) => turn * (key(a) === undefined
            ? a.cells[index].textContent.localeCompare(b.cells[index].textContent) : key(b) - key(a)));
          turn = -turn;
          body.append(...rows);
        };
        head.onclick = sort;
        head.onkeydown = event => { if (event.key === "Enter") sort(); };
      });
    }
    """

  /// The script's SHA-256, base64: the page's policy runs no other.
  static let digest = "iyNMX7C2mp9y5k4Ec/4hwRcXxHftx9OWvpttN30JKXY="
}
