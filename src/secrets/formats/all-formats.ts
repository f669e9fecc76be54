/** All formats. A row is known by its place in this list, here and in what build/anchors.ts makes of it. Pure. */
import { CLOUDS } from "./clouds.ts"
import { CODE } from "./code.ts"
import { MESSAGES } from "./messaging.ts"
import { MODELS } from "./models.ts"
import { MONEY } from "./money.ts"
import type { Format } from "./shape.ts"
import { TOOLS } from "./tools.ts"

export const FORMATS: readonly Format[] = [...MODELS, ...CODE, ...CLOUDS, ...MESSAGES, ...MONEY, ...TOOLS]
