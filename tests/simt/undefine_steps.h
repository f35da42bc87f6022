// Undefines the macros with which the steps of solvers were compiled, before they are compiled
// in another way. No include guard.
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
