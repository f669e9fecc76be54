/** Prefix of a handle wherever people or models see it. */
export const HANDLE_PREFIX = "ctx:"
