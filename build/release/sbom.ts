/** The list of what is inside, as CycloneDX 1.6. The same for the same content: no time, no chance. */
import type { Component } from "./components.ts"

function described({ name, version, licence, purl, type, hash }: Component) {
  return {
    type,
    "bom-ref": purl,
    name,
    version,
    purl,
    licenses: [/ (OR|AND|WITH) /.test(licence) ? { expression: licence } : { license: { id: licence } }],
    ...(hash && { hashes: [hash] }),
  }
}

/** A UUID (version 8: of our own making) from the content. */
function uuidOf(text: string): string {
  const hex = new Bun.CryptoHasher("sha256").update(text).digest("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

export function sbomOf(version: string, components: readonly Component[]): string {
  const own = `pkg:generic/ctxbridge@${version}`
  const content = {
    metadata: {
      component: {
        type: "application",
        "bom-ref": own,
        name: "ctxbridge",
        version,
        purl: own,
        licenses: [{ license: { id: "MIT" } }],
      },
    },
    components: components.map(described),
    dependencies: [{ ref: own, dependsOn: components.map(({ purl }) => purl) }],
  }
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(content))}`
  return `${JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", serialNumber, version: 1, ...content }, null, 2)}\n`
}
