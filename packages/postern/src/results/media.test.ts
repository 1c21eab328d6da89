import { expect, it } from "vitest";
import { mediaPath } from "./media.ts";

it.each([
  ["image/png", "png"],
  ["IMAGE/JPEG", "jpg"],
  ["text/csv; charset=utf-8", "csv"],
  ["application/x-unheard-of", "bin"],
  ["constructor", "bin"],
  ["", "bin"],
])("gives %j its true extension", (mediaType, extension) => {
  expect(mediaPath("draw", 3, mediaType)).toBe(`/workspace/media/draw_3.${extension}`);
});

it("cannot be led out of the media folder by a tool's name", () => {
  expect(mediaPath("../../etc/pass\0wd", 0, "image/png")).toBe("/workspace/media/______etc_pass_wd_0.png");
});
