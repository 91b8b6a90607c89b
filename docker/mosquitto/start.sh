#!/bin/sh
# Starts the broker with one user, `windhover`, whose password is MOSQUITTO_PASSWORD.
set -eu
umask 077
rm -f /mosquitto/data/passwords
mosquitto_passwd -b -c /mosquitto/data/passwords windhover "${MOSQUITTO_PASSWORD:?set it in docker/.env}"
exec mosquitto -c /mosquitto/config/mosquitto.conf
