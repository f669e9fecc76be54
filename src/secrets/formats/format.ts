/** One row of the tables. Pure. */

/**
 * Whose token, its shape (see shape.ts), and where that is documented: the service's own site, or the scanner that
 * lists it.
 */
export type Format = readonly [service: string, shape: string, source: string]
