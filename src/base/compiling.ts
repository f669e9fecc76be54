/**
 * Controls when the engine compiles what it runs. It does so in separate threads, but these take memory and CPU time,
 * and a process that ends after a few milliseconds gains little from it (docs/adr/0013).
 */

/**
 * How many times more often than usual code must run before it is compiled. Searches stay below this; long work exceeds
 * it.
 */
const LATE = 50

export const compileLate = (): void => Bun.unsafe.setJITPolicy(LATE)

export const compileAsUsual = (): void => Bun.unsafe.setJITPolicy(1)
