import { type ReactNode, use } from "react";

type Component = () => ReactNode;

/** The code of a screen did not come: Postern does not answer, or was updated. */
export class NotLoaded extends Error {
  override readonly name = "NotLoaded";
  readonly again: () => Promise<void>;

  constructor(again: () => Promise<void>) {
    super("This part of the page could not be loaded. Is Postern running? If it was updated, reload the page.");
    this.again = again;
  }
}

export interface LazyScreen {
  (): ReactNode;
  readonly preload: () => Promise<void>;
}

/** A screen that is loaded when it is first opened or before. The router's own reloads the page when a load fails. */
export function lazyScreen(load: () => Promise<Component>): LazyScreen {
  let Loaded: Component | undefined;
  let error: NotLoaded | undefined;
  let loading: Promise<void> | undefined;
  const preload = (): Promise<void> => {
    if (Loaded !== undefined) return Promise.resolve();
    error = undefined;
    loading ??= load()
      .then(
        (screen) => {
          Loaded = screen;
        },
        () => {
          error = new NotLoaded(preload); // thrown when it is drawn
        },
      )
      .finally(() => {
        loading = undefined;
      });
    return loading;
  };
  const Lazy = (): ReactNode => {
    if (error !== undefined) throw error;
    if (Loaded === undefined) {
      use(loading ?? preload());
      return null;
    }
    return <Loaded />;
  };
  return Object.assign(Lazy, { preload });
}
