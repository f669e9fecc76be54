/** Paths of Windows, where a file has two names. Pure. */

/** The same path with slashes, which the host's tools, its shell and every program there take as well; others as they are. */
export const withSlashes = (path: string): string =>
  /^[A-Za-z]:[\\/]/.test(path) ? path.replace(/\\+/g, "/").replace(/^[a-z]/, upper) : path

const upper = (drive: string): string => drive.toUpperCase()
