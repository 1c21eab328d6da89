/** `npm run test:system` tries all engines, all rounds and all rows of a collection; `npm test` tries a part of them. */
export const isWhole: boolean = process.env["TESTS"] === "system";
