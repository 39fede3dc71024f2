/**
 * What a query parameter may be. In the URL everything is text; these codecs read it by one strict
 * grammar (`5`, never `+5`, `05`, `5.0`, `0x5` or an empty string) and say what they expected.
 */
import { Schema, SchemaGetter } from "effect"

const text = (expected: string, form: RegExp) =>
  Schema.String.check(Schema.isPattern(form, { expected: expected, message: `Expected ${expected}` }))

export const query = {
  /** A whole number in plain decimal digits. */
  int: ({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: { minimum?: number; maximum?: number } = {}) =>
    text("a whole number in decimal digits", /^(?:0|-?[1-9]\d{0,15})$/).pipe(
      Schema.decodeTo(
        Schema.Int.check(
          Schema.isBetween({ minimum, maximum }, { message: `Expected a number from ${minimum} to ${maximum}` }),
        ),
        { decode: SchemaGetter.transform(Number), encode: SchemaGetter.transform(String) },
      ),
    ),
  /** `true` or `false`, nothing else. */
  boolean: text("true or false", /^(?:true|false)$/).pipe(
    Schema.decodeTo(Schema.Boolean, {
      decode: SchemaGetter.transform((value) => value === "true"),
      encode: SchemaGetter.transform(String),
    }),
  ),
  /** At least one character, at most `maximum`. */
  text: (maximum = 256) =>
    Schema.String.check(
      Schema.isMinLength(1, { message: "Expected at least one character" }),
      Schema.isMaxLength(maximum, { message: `Expected at most ${maximum} characters` }),
    ),
} as const
