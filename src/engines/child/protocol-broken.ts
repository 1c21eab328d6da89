/** A sandbox broke the protocol. It is killed and nothing more is read from it. */
export class ProtocolBroken extends Error {
  override readonly name = "ProtocolBroken";
}
