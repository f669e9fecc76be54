/**
 * What the MCP SDK takes from the system it runs on, without its validator of JSON Schema (build/bundles.ts). Its own
 * schemas are followed and not compiled, which pays only after more messages than a session has.
 */
import { config } from "zod/v4"

export { default as process } from "node:process"

config({ jitless: true })

export class DefaultJsonSchemaValidator {
  getValidator(): never {
    throw new Error("the server asks for no forms")
  }
}
