/** Projects and their roles as the interface writes them, nulls included. */
import { Schema } from "effect"
import type { Role } from "#core/auth/role.ts"
import { origins, providers } from "#core/project/project.ts"
import type { VisibleProject } from "#core/project/projects.ts"
import type { RoleAssignment } from "#core/project/role-assignments.ts"

const text = Schema.NullOr(Schema.String)

export const ProjectAnswer = Schema.Struct({
  project_id: Schema.String,
  name: Schema.String,
  origin: Schema.Literals(origins),
  source_repository: text,
  working_directory: Schema.String,
  default_branch: Schema.String,
  owner: Schema.String,
  default_provider: Schema.Literals(providers),
  default_model_hosted: text,
  default_model_byok: text,
  blueprint_generation_model: text,
  workflow_generation_model: text,
  outcome_spec_generation_model: text,
  /** False where the working directory cannot be found now. */
  available: Schema.Boolean,
  state: Schema.Literals(["active", "deleting"]),
  source_blueprint_id: text,
  source_blueprint_type: text,
  allowed_workflow_ids: Schema.NullOr(Schema.Array(Schema.String)),
  preview_approval_timeout_minutes: Schema.Int,
  preview_lifetime_minutes: Schema.Int,
  preview_dns_convergence_timeout_seconds: Schema.Int,
  created_at: Schema.String,
  updated_at: Schema.String,
})

export const projectAnswer = (project: VisibleProject): typeof ProjectAnswer.Type => ({
  project_id: project.projectId,
  name: project.name,
  origin: project.origin,
  source_repository: project.sourceRepository,
  working_directory: project.workingDirectory,
  default_branch: project.defaultBranch,
  owner: project.owner,
  default_provider: project.defaultProvider,
  default_model_hosted: project.defaultModelHosted,
  default_model_byok: project.defaultModelByok,
  blueprint_generation_model: project.blueprintGenerationModel,
  workflow_generation_model: project.workflowGenerationModel,
  outcome_spec_generation_model: project.outcomeSpecGenerationModel,
  available: project.available,
  state: project.state,
  source_blueprint_id: project.sourceBlueprintId,
  source_blueprint_type: project.sourceBlueprintType,
  allowed_workflow_ids: project.allowedWorkflowIds,
  preview_approval_timeout_minutes: project.previewApprovalTimeoutMinutes,
  preview_lifetime_minutes: project.previewLifetimeMinutes,
  preview_dns_convergence_timeout_seconds: project.previewDnsConvergenceTimeoutSeconds,
  created_at: project.createdAt,
  updated_at: project.updatedAt,
})

/** Roles as the interface writes them; any case is read. */
const roleNames: Record<Role, "Viewer" | "Contributor" | "Owner"> = {
  viewer: "Viewer",
  contributor: "Contributor",
  owner: "Owner",
}

export const WireRole = Schema.Literals(["Viewer", "Contributor", "Owner"])

export const wireRole = (role: Role): typeof WireRole.Type => roleNames[role]

export const AssignmentAnswer = Schema.Struct({
  assignment_id: Schema.String,
  principal_id: Schema.String,
  display_name: text,
  email: text,
  role: WireRole,
  scope: Schema.Literals(["project"]),
})

export const assignmentAnswer = (assignment: RoleAssignment): typeof AssignmentAnswer.Type => ({
  assignment_id: assignment.assignmentId,
  principal_id: assignment.principalId,
  display_name: assignment.displayName,
  email: assignment.email,
  role: wireRole(assignment.role),
  scope: "project",
})
