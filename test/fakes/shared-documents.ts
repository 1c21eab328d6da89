import type { Documents, Store } from "../../packages/postern/src/store/store.ts";

type Listener = Parameters<NonNullable<Documents["follow"]>>[1];

/** Views of one store, each as another process on it has it: `documents.follow` tells of the changes of the others. */
export function sharedDocuments(store: Store): () => Pick<Store, "commit" | "documents"> {
  const views: { readonly listeners: Map<string, Set<Listener>> }[] = [];
  return () => {
    const own = { listeners: new Map<string, Set<Listener>>() };
    views.push(own);
    return {
      commit: async (write, durability) => {
        const committed = await store.commit(write, durability);
        if (write.write === "document" && committed.won) {
          const document = { version: write.expectedVersion + 1, body: write.body };
          for (const { listeners } of views.filter((view) => view !== own))
            for (const listener of listeners.get(write.kind) ?? []) listener(write.id, document);
        }
        return committed;
      },
      documents: {
        get: (kind, id) => store.documents.get(kind, id),
        list: (kind, prefix) => store.documents.list(kind, prefix),
        follow: (kind, listener) => {
          own.listeners.set(kind, (own.listeners.get(kind) ?? new Set()).add(listener));
          return { [Symbol.dispose]: () => void own.listeners.get(kind)?.delete(listener) };
        },
      },
    };
  };
}
