"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const root = document.documentElement;

  // ---- Light and dark: as the system says, until somebody chooses.
  const isDark = () =>
    root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("snap-theme", root.dataset.theme); } catch { /* not remembered */ }
  });

  // ---- Float, int8, device.
  all("[data-show]").forEach((button) =>
    button.addEventListener("click", () => {
      const shown = button.dataset.show;
      all("[data-show]").forEach((b) => b.setAttribute("aria-pressed", String(b === button)));
      all("[data-source]").forEach((part) => { part.hidden = part.dataset.source !== shown; });
    }),
  );

  // ---- Pointing at a method dims the others; a click on its entry keeps it so.
  const light = (picture, name) => {
    picture.classList.toggle("pointed", Boolean(name));
    all(".series, .band", picture).forEach((part) =>
      part.classList.toggle("lit", part.dataset.method === name),
    );
  };
  all("figure").forEach((figure) => {
    const picture = figure.querySelector(".picture");
    let pinned = "";
    const over = (event) => {
      const at = event.target.closest("[data-method]");
      light(picture, at ? at.dataset.method : pinned);
    };
    figure.addEventListener("pointerover", over);
    figure.addEventListener("focusin", over);
    figure.addEventListener("pointerleave", () => light(picture, pinned));
    figure.addEventListener("focusout", () => light(picture, pinned));
    all(".legend button", figure).forEach((button) =>
      button.addEventListener("click", () => {
        pinned = pinned === button.dataset.method ? "" : button.dataset.method;
        all(".legend button", figure).forEach((b) =>
          b.classList.toggle("pinned", b.dataset.method === pinned),
        );
        light(picture, pinned);
      }),
    );
  });

  // ---- Tips.
  const tip = document.getElementById("tip");
  const place = (event) => {
    const at = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = !at;
    if (!at) return;
    tip.textContent = at.dataset.tip;
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const below = event.clientY + 18 + box.height < innerHeight;
    tip.style.left = `${Math.max(8, x)}px`;
    tip.style.top = `${below ? event.clientY + 18 : Math.max(8, event.clientY - box.height - 12)}px`;
  };
  document.addEventListener("pointermove", place);
  document.addEventListener("pointerdown", place);
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // ---- Tables: sorted by a click, what was not run stays at the end.
  const key = (cell) => {
    if (!cell) return null;
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    return cell.classList.contains("none") ? null : cell.textContent.trim().toLowerCase();
  };
  const compare = (a, b, up) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1);
  };
  all("table.data").forEach((table) => {
    const heads = all("thead tr:last-child th", table);
    const body = table.tBodies[0];
    heads.forEach((head, column) =>
      head.querySelector(".sort").addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const first = head.dataset.better === "higher" ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const next = now === first ? other : first;
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", next);
        const rank = (row) => (row.classList.contains("not-run") && column ? null : key(row.cells[column]));
        [...body.rows]
          .sort((a, b) => compare(rank(a), rank(b), next === "ascending"))
          .forEach((row) => body.append(row));
      }),
    );
  });

  // ---- CSV: an interval becomes three columns.
  const csv = (table) => {
    const heads = all("thead tr:last-child th", table);
    const groups = all("thead tr:first-child th", table).flatMap((th) =>
      Array(th.colSpan).fill(th.classList.contains("group") ? `${th.textContent}: ` : ""),
    );
    const rows = [...table.tBodies[0].rows];
    const wide = heads.map((_, i) => rows.some((row) => row.cells[i]?.dataset.i !== undefined));
    const title = (head, i) => groups[i] + head.querySelector(".sort").firstChild.textContent;
    const lines = [
      heads.flatMap((head, i) => {
        const name = title(head, i);
        return wide[i] ? [name, `${name} low`, `${name} high`] : [name];
      }),
      ...rows.map((row) =>
        heads.flatMap((_, i) => {
          const cell = row.cells[i];
          const missing = !cell || cell.classList.contains("none");
          const value = missing ? "" : (cell.dataset.v ?? cell.textContent);
          const [low = "", high = ""] = cell?.dataset.i?.split(" ") ?? [];
          return wide[i] ? [value, low, high] : [value];
        }),
      ),
    ];
    const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    return lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
  };
  const copy = async (words) => {
    try {
      await navigator.clipboard.writeText(words);
    } catch {
      const area = Object.assign(document.createElement("textarea"), { value: words });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  all(".copy").forEach((button) =>
    button.addEventListener("click", async () => {
      const said = button.textContent;
      await copy(csv(button.closest(".table").querySelector("table")));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = said; }, 1500);
    }),
  );

  // ---- Where the reader is.
  const links = new Map(all(".links a").map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver(
    (entries) =>
      entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
        links.forEach((link) => link.classList.remove("here"));
        links.get(entry.target.id)?.classList.add("here");
      }),
    { rootMargin: "-20% 0px -70% 0px" },
  );
  all("main > section").forEach((section) => seen.observe(section));
})();
