import { type KeyboardEvent, type ReactNode, useId, useRef } from "react";
import { classNames } from "./class-names.ts";

export interface Tab<Id extends string = string> {
  readonly id: Id;
  readonly label: ReactNode;
}

type TabsProps<Id extends string> = Readonly<{
  label: string;
  tabs: readonly Tab<Id>[];
  selected: Id;
  onSelect: (id: Id) => void;
  children: ReactNode;
}>;

/** Tabs of the ARIA pattern: arrow keys move, one tab is in the tab order. The child is the panel. */
export function Tabs<Id extends string>(props: TabsProps<Id>): ReactNode {
  const { label, tabs, selected, onSelect, children } = props;
  const name = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = tabs.findIndex(({ id }) => id === selected);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onSelect(next.id);
    list.current?.querySelector<HTMLElement>(`[data-tab="${CSS.escape(next.id)}"]`)?.focus();
  };
  return (
    <div className="grid min-w-0 gap-3">
      <div
        ref={list}
        role="tablist"
        aria-label={label}
        onKeyDown={move}
        className="flex gap-1 overflow-x-auto border-b border-line max-sm:gap-0"
      >
        {tabs.map(({ id, label: text }) => (
          <button
            key={id}
            type="button"
            role="tab"
            data-tab={id}
            id={`${name}-${id}`}
            aria-selected={id === selected}
            aria-controls={`${name}-panel`}
            tabIndex={id === selected ? 0 : -1}
            onClick={() => onSelect(id)}
            className={classNames(
              "-mb-px border-b-2 px-1.5 py-1.5 whitespace-nowrap max-sm:py-2.5 max-sm:text-[0.9286rem] sm:px-2.5",
              id === selected ? "border-accent font-medium text-ink" : "border-transparent text-ink-2 hover:text-ink",
            )}
          >
            {text}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${name}-panel`} aria-labelledby={`${name}-${selected}`} className="min-w-0">
        {children}
      </div>
    </div>
  );
}
