import { keep, kept } from "../api/index.ts";
import { SharedValue } from "../kit/index.ts";

/** Follows the system until the person chooses; the choice stays in this browser. */
export type Theme = "system" | "light" | "dark";

const key = "postern-theme";

function chosenTheme(): Theme {
  const theme = kept(key);
  return theme === "light" || theme === "dark" ? theme : "system";
}

export const shownTheme = new SharedValue<Theme>(chosenTheme());
const nextTheme: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };

export function changeTheme(): void {
  const theme = nextTheme[shownTheme.value];
  keep(key, theme === "system" ? undefined : theme);
  shownTheme.set(theme);
  applyTheme(theme);
}

export function applyTheme(theme: Theme = chosenTheme()): void {
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
}
