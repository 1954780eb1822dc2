-- Greatest common divisor of all values; 0 for none. All of several amounts are multiples of a step if and
-- only if their greatest common divisor is.
CREATE OR REPLACE AGGREGATE gcd_of(bigint) (SFUNC = gcd, STYPE = bigint, INITCOND = '0');
