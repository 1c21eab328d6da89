import { keep, kept } from "../api/index.ts";

/** Follows the system until the person chooses; the choice stays in this browser. */
export type Theme = "system" | "light" | "dark";

const key = "postern-theme";

export function chosenTheme(): Theme {
  const theme = kept(key);
  return theme === "light" || theme === "dark" ? theme : "system";
}

export function chooseTheme(theme: Theme): void {
  keep(key, theme === "system" ? undefined : theme);
  applyTheme(theme);
}

export function applyTheme(theme: Theme = chosenTheme()): void {
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
}
