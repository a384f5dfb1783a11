// Pages work without this. It adds shortcuts, which can be turned off, and buttons that copy.
"use strict";

(() => {
  const remembered = "caqtus-shortcuts";
  const read = () => { try { return localStorage.getItem(remembered) !== "off"; } catch { return true; } };
  let on = read();

  const show = () => {
    document.querySelectorAll(".shortcut").forEach((hint) => { hint.hidden = !on && !hint.querySelector("[data-shortcuts]"); });
    document.querySelectorAll("[data-shortcuts]").forEach((button) => {
      button.setAttribute("aria-pressed", String(on));
      button.textContent = on ? "Keys are on" : "Keys are off";
    });
  };

  const isField = (element) => element instanceof HTMLElement && element.matches("input, select, textarea");

  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (isField(target)) {
      if (key === "Escape") target.blur();
      if (key === "Enter" && (event.ctrlKey || event.metaKey) && target.form) { event.preventDefault(); target.form.requestSubmit(); }
      return;
    }
    if (!on || event.ctrlKey || event.metaKey || event.altKey || key.length !== 1) return;
    const found = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (!found) return;
    event.preventDefault();
    if (isField(found)) { found.focus(); found.scrollIntoView({ block: "center" }); } else { found.click(); }
  });

  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (!button) return;
    if (button.matches("[data-shortcuts]")) {
      on = !on;
      try { localStorage.setItem(remembered, on ? "on" : "off"); } catch { /* It is forgotten with the page. */ }
      show();
    }
    if (button.dataset.copy) {
      const from = document.getElementById(button.dataset.copy);
      const said = document.getElementById(`${button.dataset.copy}-copied`);
      const copied = () => { if (said) said.textContent = "Copied"; };
      // A page that is not on a loopback address or behind TLS may not use the clipboard: then the text is selected.
      if (navigator.clipboard) navigator.clipboard.writeText(from.value).then(copied, () => from.select());
      else from.select();
    }
  });

  document.querySelectorAll("[data-copy]").forEach((button) => { button.hidden = false; });
  show();
})();
