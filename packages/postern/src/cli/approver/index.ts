/**
 * `postern/approvers`: approvers that show a request at the terminal or on a page.
 *
 * @packageDocumentation
 */

export { createTerminalApprover, type TerminalApproverOptions } from "./terminal-approver.ts";
export { createWebApprover, type WebApprover, type WebApproverOptions } from "./web-approver.ts";
