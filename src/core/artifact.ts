/** `{"$artifact": digest}` names an artifact in arguments. */
export const referenceKey = "$artifact";

/** The tool by which an agent reads an artifact piece by piece. */
export const readArtifactName = "read_artifact";
