/**
 * Sessions that are no transcripts: an agent keeps them as rows of a database, as one document each, or compressed. A
 * transcript is made of them, and grows in the vault as any other.
 */
import { isDocument } from "../../agents/layouts.ts"
import { takeDocument } from "./take-document.ts"
import { takeOpencode } from "./take-opencode.ts"
import { isPacked, takePacked } from "./take-packed.ts"
import type { MadePlace, MadeTaken, TakeMade } from "./taken-made.ts"

/** Takes what the vault lacks. @throws CtxError `busy`; whatever reading throws */
export const takeMade = (place: MadePlace, path: string, options: TakeMade): MadeTaken =>
  isPacked(path)
    ? takePacked(place, path, options)
    : isDocument(path)
      ? takeDocument(place, path, options)
      : takeOpencode(place, path, options)
