/**
 * When the engine compiles what it runs. It does so in threads of its own, but these take memory and processors, too, and a
 * process that ends after some milliseconds gets little of it back (docs/adr/0013).
 */

/** How many times as often as usual something must have run: more often than in a search, less than in a long work. */
const LATE = 50

export const compileLate = (): void => Bun.unsafe.setJITPolicy(LATE)

export const compileAsUsual = (): void => Bun.unsafe.setJITPolicy(1)
