/** The import section: functions that were granted, and nothing else. */
import type { Grants } from "#runtime/plugin-host/wasm/grants.ts"
import type { Limits } from "#runtime/plugin-host/wasm/limits.ts"
import type { ParsedModule } from "#runtime/plugin-host/wasm/module.ts"
import { price } from "#runtime/plugin-host/wasm/price.ts"
import type { Reader } from "#runtime/plugin-host/wasm/reader.ts"
import { refused } from "#runtime/plugin-host/wasm/refused.ts"
import { describeType, type FunctionType } from "#runtime/plugin-host/wasm/value-type.ts"

const kinds = ["function", "table", "memory", "global", "tag"]

export const readImports = (reader: Reader, module: ParsedModule, limits: Limits, grants: Grants): void => {
  for (let left = reader.count(limits.imports, "imports"); left > 0; left--) {
    const offset = reader.at
    const from = reader.name(limits.nameBytes)
    const name = reader.name(limits.nameBytes)
    const full = `${from}.${name}`
    const place = { offset, import: full }
    const kindCode = reader.byte()
    if (kindCode !== 0) {
      const kind = kinds[kindCode] ?? `kind ${kindCode}`
      throw refused(
        "import_not_granted",
        `The module imports the ${kind} ${full}: only functions can be granted`,
        place,
      )
    }
    const typeIndex = reader.u32()
    const type = module.types[typeIndex]
    if (type === undefined) throw reader.malformed(`There is no type ${typeIndex}`, offset)
    const grant = grants.find((candidate) => candidate.module === from && candidate.name === name)
    if (grant === undefined)
      throw refused("import_not_granted", `The module imports ${full}, which it was not granted`, place)
    if (!sameType(grant, type)) {
      const message = `The module imports ${full} as ${describeType(type)}, which is granted as ${describeType(grant)}`
      throw refused("import_type", message, place)
    }
    module.imports.push({ module: from, name, typeIndex, price: grant.price ?? price.hostCall })
    module.functions.push(typeIndex)
  }
}

const sameType = (a: FunctionType, b: FunctionType): boolean => describeType(a) === describeType(b)
