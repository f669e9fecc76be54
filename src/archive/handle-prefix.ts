/** How a handle is written wherever people or models see it. */
export const HANDLE_PREFIX = "ctx:"
