/** A child that does not keep to the protocol. It is killed, and nothing more of it is read. */
export class ProtocolBroken extends Error {
  override readonly name = "ProtocolBroken";
}
