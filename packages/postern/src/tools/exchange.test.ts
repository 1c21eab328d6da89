import { expect, it } from "vitest";
import { toolCallRequest, toolExecutionResult } from "./exchange.ts";

it("two requests without an id get two different ids (case 15)", () => {
  expect(toolCallRequest({ name: "t" }).callId).not.toBe(toolCallRequest({ name: "t" }).callId);
});

it("a result's text is both of its text blocks, and its call id is empty until the loop fills it (case 16)", () => {
  const content = [
    { type: "text" as const, text: "one" },
    { type: "text" as const, text: "two" },
  ];
  expect(toolExecutionResult({ content })).toMatchObject({
    text: "one\ntwo",
    callId: "",
    isError: false,
  });
});

it("requests and results refuse to be changed (case 17)", () => {
  const request = toolCallRequest({ name: "t", arguments: { a: 1 } });
  const result = toolExecutionResult();
  expect(() => Object.assign(request, { name: "u" })).toThrow(TypeError);
  expect(() => Object.assign(request.arguments, { a: 2 })).toThrow(TypeError);
  expect(() => Object.assign(result, { isError: true })).toThrow(TypeError);
});
