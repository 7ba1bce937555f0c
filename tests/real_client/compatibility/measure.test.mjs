// What works with one version of Claude Code.
import "./questions.mjs";
import "./unattended.mjs";
import "./permissions.mjs";
import "./plans.mjs";
import "./forms.mjs";
import "./shared.mjs";
