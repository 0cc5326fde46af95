// Applies the viewer's choice of light or dark, which is kept in this browser, before anything is drawn.
try {
  const chosen = localStorage.getItem("duerow-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage is switched off: the system's choice holds */ }
