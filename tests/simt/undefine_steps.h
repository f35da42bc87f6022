// Macros by which a text of solvers' steps was compiled, before it is compiled in another way.
// Included as often as needed.
#undef MBS_INDEX
#undef MBS_ALWAYS
#undef MBS_RUNNING
#undef MBS_UNTIL_CLOSED
#undef MBS_BEFORE
#undef MBS_ELEMENT
#undef MBS_AFTER
#undef MBS_STEP
#undef MBS_STORE
#undef MBS_REGISTER
#undef MBS_WIDE_COUNT
#undef MBS_WIDE_ELEMENT
#undef MBS_WIDE_AFTER
#undef MBS_WIDE_STEP
