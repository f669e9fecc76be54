/** Time limits of the e2e tests, which test/platforms/run.ts widens where the binary under test is emulated. */

/** How many times longer than usual anything may take. */
const SLOWNESS = Number(process.env["CTXBRIDGE_TEST_SLOWNESS"] ?? 1)

/** ms that a test or a wait may take here, of which `ms` are allowed where nothing is emulated. */
export const limit = (ms: number): number => ms * SLOWNESS

/** What hooks do is tested, not how busy the machine is: they may take as long as they can be told to. */
export const HOOK_ENV: Readonly<Record<string, string>> = { CTXBRIDGE_HOOK_DEADLINE: "4000" }
