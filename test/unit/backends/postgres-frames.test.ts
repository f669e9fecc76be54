/** Pieces of vaults in real PostgreSQL servers: PGlite, and Debian's where it is installed. */
import { afterAll, beforeAll, describe, setDefaultTimeout } from "bun:test"
import { serverAddress } from "../../../src/backends/postgres-address.ts"
import { openPostgresFrames } from "../../../src/backends/postgres-frames.ts"
import {
  installedPostgres,
  NO_VARIABLES,
  startPglite,
  startPostgres,
  type TestServer,
} from "../../support/postgres.ts"
import { frameContract } from "./frame-contract.ts"

setDefaultTimeout(60_000)

const programs = installedPostgres()

for (const [name, start, isThere] of [
  ["PGlite", () => startPglite({ vectors: false }), true],
  ["Debian's PostgreSQL", () => startPostgres(programs!), programs !== undefined],
] as const) {
  describe(name, () => {
    let server: TestServer
    beforeAll(async () => {
      if (isThere) server = await start()
    })
    afterAll(async () => {
      if (isThere) await server[Symbol.asyncDispose]()
    })
    const target = async () => {
      await server.run("DROP SCHEMA IF EXISTS ctxbridge CASCADE")
      return {
        open: (machine: string) => openPostgresFrames(serverAddress(server.address, NO_VARIABLES), machine),
        [Symbol.asyncDispose]: async () => {},
      }
    }
    frameContract(name, target, isThere)
  })
}
