/** The licences of everything inside a binary, as one text. */
import type { Component } from "./components.ts"

const RULE = "=".repeat(80)

/** Most packages of ours without a licence file are under this one. */
const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`

/** What the packages' own files leave out. */
const MORE: Readonly<Record<string, string>> = {
  bun: `Bun links other people's work statically: JavaScriptCore and parts of WebKit (LGPL-2), TinyCC (LGPL-2.1), ICU,
BoringSSL, SQLite, zstd, brotli, mimalloc, lol-html, c-ares, libarchive, simdutf, uSockets and more. Their licences, and
how to link Bun anew with a changed JavaScriptCore, are at https://bun.com/docs/project/license; the sources are at
https://github.com/oven-sh/bun and https://github.com/oven-sh/WebKit. ctxbridge itself is MIT and its sources make the
same binary with a Bun of your own (npm run release).`,
  "onnxruntime-node": `Copyright (c) Microsoft Corporation. ONNX Runtime contains other people's work; its notices are at
https://github.com/microsoft/onnxruntime/blob/main/ThirdPartyNotices.txt`,
  "onnxruntime-web": "Copyright (c) Microsoft Corporation.",
  "onnxruntime-common": "Copyright (c) Microsoft Corporation.",
  "all-MiniLM-L6-v2": `The sentence model of https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2, by the authors of
sentence-transformers; converted to ONNX with 8-bit weights at https://huggingface.co/Xenova/all-MiniLM-L6-v2, by Xenova.
Its files are as published there.`,
}

function section({ name, version, licence, texts }: Component): string {
  const more = MORE[name] === undefined ? [] : [MORE[name]]
  const declared =
    texts.length === 0
      ? [
          `The package has no file with its licence. It is declared as ${licence}.`,
          ...(licence === "MIT" ? [MIT] : []),
        ]
      : texts
  return [`${name} ${version} (${licence})`, ...more, ...declared].join("\n\n")
}

/** @param own text of our own licence */
export const licencesOf = (own: string, version: string, components: readonly Component[]): string =>
  `${[`ctxbridge ${version} (MIT)\n\n${own.trim()}`, ...components.map(section)].join(`\n\n${RULE}\n\n`)}\n`
