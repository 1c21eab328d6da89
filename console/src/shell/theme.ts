/** Follows the system until the person chooses; the choice stays in this browser. */
export type Theme = "system" | "light" | "dark";

const place = "postern-theme";

export function chosenTheme(): Theme {
  try {
    const kept = localStorage.getItem(place);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system"; // storage is off: nothing is kept, nothing breaks
  }
}

export function chooseTheme(theme: Theme): void {
  try {
    if (theme === "system") localStorage.removeItem(place);
    else localStorage.setItem(place, theme);
  } catch {
    // storage is off: the choice lasts as long as the page
  }
  applyTheme(theme);
}

export function applyTheme(theme: Theme = chosenTheme()): void {
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
}
