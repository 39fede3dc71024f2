/** The roles in a project, each including those before it. */
import { Schema } from "effect"

export const roles = ["viewer", "contributor", "owner"] as const
export const Role = Schema.Literals(roles)
export type Role = (typeof roles)[number]

/** May someone with the role `held` do what needs `needed`? */
export const allows = (held: Role, needed: Role): boolean => roles.indexOf(held) >= roles.indexOf(needed)
