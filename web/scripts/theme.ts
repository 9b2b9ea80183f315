// Runs before the first paint: the theme that was chosen, and that there are scripts.
const root = document.documentElement;
root.dataset.script = "";
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark" || theme === "contrast") root.dataset.theme = theme;
} catch {
  // Storage is barred: the system's theme it is.
}
