import { type ReactNode, useEffect } from "react";
import { isTaken, late, useKeys, useShared } from "../kit/index.ts";
import { overlay } from "./overlay.ts";

const HelpDialog = late(async () => (await import("./help-dialog.tsx")).HelpDialog);
const CommandMenu = late(async () => (await import("./command-menu.tsx")).CommandMenu);

const close = (): void => overlay.set(undefined);

function search(): void {
  const fields = document.querySelectorAll<HTMLInputElement>("#content input[type=search]");
  [...fields].find((field) => field.offsetParent !== null)?.focus();
}
const PauseDialog = late(async () => (await import("./command-menu.tsx")).PauseDialog);

/** Keys that work on every screen, and what they open. */
export function Shortcuts(): ReactNode {
  const open = useShared(overlay, (one) => one);
  useKeys({ "/": search, "?": () => overlay.set("help") });
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || isTaken(event)) return;
      event.preventDefault(); // browsers have their own search there
      overlay.set("menu");
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  if (open === "help") return <HelpDialog onClose={close} />;
  if (open === "pause") return <PauseDialog onClose={close} />;
  return open === "menu" ? <CommandMenu onClose={close} /> : null;
}
