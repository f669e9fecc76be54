/** Windows paths, which can be written in two ways. Pure. */

/** A Windows path with slashes, which the host's tools, its shell and every program there accept; others unchanged. */
export const withSlashes = (path: string): string =>
  /^[A-Za-z]:[\\/]/.test(path) ? path.replace(/\\+/g, "/").replace(/^[a-z]/, upper) : path

const upper = (drive: string): string => drive.toUpperCase()
