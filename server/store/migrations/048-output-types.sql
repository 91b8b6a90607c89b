-- additive
-- The API's schema is the one list of output types.
alter table outputs drop constraint outputs_type_check;
