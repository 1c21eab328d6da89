/** Ctrl-K: leads to screens, tools, runs and requests, and does what is done on every screen. */
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type ReactNode, useDeferredValue, useRef, useState } from "react";
import { idOf, useAnswer, useControls, useMay, useSignIn } from "../api/index.ts";
import { Dialog, Text, TextField, toast } from "../kit/index.ts";
import { screens, unlisted } from "../routes.ts";
import { BrakeDialog } from "../screens/brakes.tsx";
import { hasWords } from "../screens/split-view.tsx";
import { overlay } from "./overlay.ts";
import { changeTheme } from "./theme.ts";

interface Command {
  readonly kind: "Screen" | "Action" | "Tool" | "Run" | "Request";
  readonly label: string;
  readonly act: () => unknown;
}

/** Of each kind. */
const most = 8;

export function CommandMenu({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [words, setWords] = useState("");
  const list = useRef<HTMLUListElement>(null);
  const commands = useCommands(words.trim());
  const found = [...Map.groupBy(commands, ({ kind }) => kind).values()].flatMap((of) => of.slice(0, most));
  const take = ({ act }: Command): void => {
    onClose();
    act();
  };
  /** From the field to the first one found, and on. */
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const buttons = [...(list.current?.querySelectorAll("button") ?? [])];
    if (step === 0) return;
    event.preventDefault();
    const next = buttons.findIndex((one) => one.matches(":focus")) + step;
    (buttons[next] ?? document.querySelector<HTMLElement>("dialog [data-first]"))?.focus();
  };
  return (
    <Dialog title="Go to, or do" open onClose={onClose}>
      <form
        onKeyDown={move}
        onSubmit={(event) => {
          event.preventDefault();
          if (found[0] !== undefined) take(found[0]);
        }}
        className="grid gap-3"
      >
        <TextField label="Screen, action, tool, run or request" first value={words} onChange={setWords} />
        <ul ref={list} aria-label="Found" className="-mx-2 h-80 max-h-[45dvh] overflow-y-auto px-1">
          {found.map((command) => (
            <li key={`${command.kind} ${command.label}`}>
              <button
                type="button"
                onClick={() => take(command)}
                className="flex w-full items-baseline justify-between gap-3 rounded-md px-2 py-1.5 text-left -outline-offset-2 hover:bg-hover max-sm:py-2.5"
              >
                <Text className="min-w-0 truncate">{command.label}</Text>
                <span className="text-[0.8571rem] text-ink-3">{command.kind}</span>
              </button>
            </li>
          ))}
        </ul>
        <p role="status" className="text-ink-3 empty:hidden">
          {found.length === 0 && "Nothing matches."}
        </p>
      </form>
    </Dialog>
  );
}

function useCommands(words: string): readonly Command[] {
  const navigate = useNavigate();
  const may = useMay();
  const { out } = useSignIn();
  const { paused } = useControls() ?? {};
  const isWanted = { enabled: words !== "" };
  const tools = useAnswer("GET /v1/tools", {}, isWanted).data?.tools ?? [];
  const runs = useAnswer("GET /v1/runs", { limit: 250 }, isWanted).data?.runs ?? [];
  const search = useDeferredValue(words) || undefined;
  const requests = useAnswer("GET /v1/approvals", { state: "pending", limit: most, search }, isWanted).data?.approvals;
  const command = (kind: Command["kind"], label: string, act: () => unknown): Command => ({ kind, label, act });
  const all = [
    ...[...screens, ...unlisted].map(({ label, path }) => command("Screen", label, () => navigate({ to: path }))),
    ...(may("controls:write")
      ? [command("Action", paused === true ? "Resume calls…" : "Stop all calls…", () => overlay.set("pause"))]
      : []),
    command("Action", "Help: keys, and how an agent is connected", () => overlay.set("help")),
    command("Action", "Change the theme", changeTheme),
    command("Action", "Sign out", () => out().catch(({ message }: Error) => toast(message, "bad"))),
    ...[...new Set(tools.map(({ tool }) => tool))].map((tool) =>
      command("Tool", tool, () => navigate({ to: "/tools/{-$tool}", params: { tool } })),
    ),
    ...runs.map(({ run_id: run }) => command("Run", run, () => navigate({ to: "/runs/{-$run}", params: { run } }))),
  ].filter(({ kind, label }) => hasWords([label, kind], words));
  // The server has searched them, in arguments too. Found for earlier words, they would be chosen by Enter.
  const found = (search === words ? (requests ?? []) : []).map((one) => {
    const { what, preview, summary } = one;
    const label = `${what.tool}: ${preview?.summary ?? summary ?? JSON.stringify(what.arguments).slice(0, 80)}`;
    return command("Request", label, () => navigate({ to: "/approvals/{-$request}", params: { request: idOf(one) } }));
  });
  return [...all, ...found];
}

export function PauseDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  return <BrakeDialog kind="all" name="" isOn={useControls()?.paused === true} onClose={onClose} />;
}
