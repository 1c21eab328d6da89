import type { CallEvent } from "@postern/core";
import { expect, it, vi } from "vitest";
import { aCall } from "../../../../test/fakes/call.ts";
import { createStream } from "./stream.ts";

const event: CallEvent = { moment: "arrived", call: aCall() };
const outcome = { status: "ok", callId: "c", content: [], text: "" } as const;
const left: CallEvent = { moment: "left", call: aCall(), outcome, durationMs: 1 };

it("calls every watcher with every moment, in order", () => {
  const stream = createStream(expect.unreachable);
  const received: string[] = [];
  stream.watch(({ moment }) => void received.push(`one ${moment}`));
  stream.watch(({ moment }) => void received.push(`two ${moment}`));
  stream.announce(event);
  expect(received).toEqual(["one arrived", "two arrived"]);
});

it("logs a watcher that throws and continues with the next", () => {
  const log = vi.fn();
  const stream = createStream(log);
  const next = vi.fn();
  stream.watch(() => {
    throw new Error("boom");
  });
  stream.watch(next);
  stream.announce(event);
  expect(next).toHaveBeenCalledOnce();
  expect(log).toHaveBeenCalledExactlyOnceWith("A watcher failed at `arrived`: boom.");
});

it("logs a watcher that rejects later", async () => {
  const log = vi.fn();
  const stream = createStream(log);
  stream.watch(() => Promise.reject(null));
  stream.announce(event);
  expect(log).not.toHaveBeenCalled();
  await Promise.resolve();
  expect(log).toHaveBeenCalledExactlyOnceWith("A watcher failed at `arrived`: null.");
});

it("does not wait for a slow watcher", () => {
  const stream = createStream(expect.unreachable);
  const next = vi.fn();
  stream.watch(() => new Promise(() => {}));
  stream.watch(next);
  stream.announce(event);
  expect(next).toHaveBeenCalledOnce();
});

it("does not call a disposed watcher, also if it watches twice", () => {
  const stream = createStream(expect.unreachable);
  const watcher = vi.fn();
  using _staying = stream.watch(watcher);
  const leaving = stream.watch(watcher);
  leaving[Symbol.dispose]();
  leaving[Symbol.dispose]();
  stream.announce(event);
  expect(watcher).toHaveBeenCalledOnce();
});

it("finishes its round if a watcher leaves or joins during it", () => {
  const stream = createStream(expect.unreachable);
  const joined = vi.fn();
  const second = vi.fn();
  const first = stream.watch(() => {
    first[Symbol.dispose]();
    stream.watch(joined);
  });
  stream.watch(second);
  stream.announce(event);
  expect(second).toHaveBeenCalledOnce();
  expect(joined).not.toHaveBeenCalled();
});

it("calls every watcher in the same order, also if one of them causes the next moment", () => {
  const stream = createStream(expect.unreachable);
  const received: string[] = [];
  const tellOf = (watcher: string) => stream.watch(({ moment }) => void received.push(`${watcher} ${moment}`));
  tellOf("one");
  stream.watch(({ moment }) => {
    if (moment === "arrived") stream.announce(left);
  });
  tellOf("two");
  stream.announce(event);
  stream.announce(left);
  expect(received).toEqual(["arrived", "left", "left"].flatMap((moment) => [`one ${moment}`, `two ${moment}`]));
});
