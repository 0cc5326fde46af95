// Before anything is drawn: the viewer's choice of light or dark, which stays in this browser.
try {
  const chosen = localStorage.getItem("duerow-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage is switched off: the system's choice holds */ }
