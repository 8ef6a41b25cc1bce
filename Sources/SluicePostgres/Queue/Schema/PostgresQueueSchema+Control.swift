#if PostgreSQL
extension PostgresQueueSchema {
    /// Whether a member of a selected job is meant by the selection.
    private static let isMeant = """
        CASE p_kind WHEN 'user' THEN member.user_name = p_name WHEN 'batch' THEN member.batch = p_name ELSE true END
        """

    private static let selection = "p_states int8[], p_kind text, p_name text, p_ids int8[]"
    private static let selected = "selected(p_queue, p_states, p_kind, p_name, p_ids)"

    /// The numbers in an array as a common table expression, for what an UPDATE or DELETE joins.
    private static func set(_ name: String, of array: String) -> String {
        "\(name) AS MATERIALIZED (SELECT p_queue AS queue, id FROM unnest(\(array)) AS \(name) (id))"
    }

    /// The jobs with the numbers in an array, in its order.
    private static func jobs(in array: String) -> String {
        "unnest(\(array)) AS listed (number) \(job("listed.number"))"
    }

    /// Whether the row `job` has a member with this property.
    private static func hasMember(_ property: String) -> String {
        "EXISTS (SELECT FROM member WHERE member.queue = p_queue AND member.job = job.id AND \(property) OFFSET 0)"
    }

    /// The operations on selected jobs. All of them work on sets, because a selection can have a hundred thousand jobs.
    static let controlFunctions = [
        // The selected jobs in some states, in the order of their numbers. If there are p_ids, only those of them.
        """
        CREATE FUNCTION selected(p_queue int8, \(selection)) RETURNS int8[] LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_ids int8[];
        BEGIN
            IF p_kind = 'ids' OR cardinality(p_ids) > 0 THEN
                v_ids := ARRAY(SELECT id FROM (SELECT DISTINCT unnest(p_ids) AS number) AS named \(job("named.number"))
                    WHERE state = ANY (p_states) AND (p_kind <> 'host' OR host = p_name));
            ELSIF p_kind = 'batch' THEN
                v_ids := ARRAY(SELECT id FROM (
                        SELECT DISTINCT job FROM (
                            SELECT job FROM member WHERE queue = p_queue AND batch >= p_name AND batch <= p_name
                            ORDER BY batch, queue, job) AS member) AS member
                    \(job("member.job")) WHERE state = ANY (p_states));
            ELSE
                -- A few jobs are found among many others by the indexes of their states.
                v_ids := ARRAY(
                    SELECT id FROM (SELECT id, host FROM job WHERE queue = p_queue AND state IN (0, 5)
                            AND p_states && ARRAY[0, 5]::int8[] AND state = ANY (p_states) ORDER BY rank, id) AS job
                        WHERE p_kind <> 'host' OR host = p_name
                    UNION ALL SELECT id FROM (SELECT id, host FROM job WHERE queue = p_queue AND state = 6
                            AND 6 = ANY (p_states) ORDER BY rank, id) AS job WHERE p_kind <> 'host' OR host = p_name
                    UNION ALL SELECT id FROM (SELECT id, host FROM job WHERE queue = p_queue AND state = 1
                            AND 1 = ANY (p_states) ORDER BY worker, id) AS job WHERE p_kind <> 'host' OR host = p_name
                    UNION ALL SELECT id FROM (SELECT id, host FROM job WHERE queue = p_queue AND state IN (2, 3, 4)
                            AND 2 = ANY (p_states) AND state = ANY (p_states) ORDER BY ended, id) AS job
                        WHERE p_kind <> 'host' OR host = p_name
                    UNION ALL SELECT id FROM (SELECT id, host FROM job WHERE queue = p_queue AND state IN (3, 4)
                            AND NOT 2 = ANY (p_states) AND state = ANY (p_states) ORDER BY state, id) AS job
                        WHERE p_kind <> 'host' OR host = p_name);
            END IF;
            IF p_kind IN ('user', 'batch') THEN
                v_ids := ARRAY(SELECT id FROM unnest(v_ids) AS listed (id) WHERE EXISTS (
                    SELECT FROM member WHERE queue = p_queue AND job = listed.id
                        AND CASE p_kind WHEN 'user' THEN user_name ELSE batch END = p_name OFFSET 0));
            END IF;
            RETURN ARRAY(SELECT unnest(v_ids) ORDER BY 1);
        END $$
        """,
        // Ends members. Returns the jobs with effects: 0 stopped, 1 its worker cancels it, 2 its worker pauses it, 3 it continues.
        """
        CREATE FUNCTION cancel(p_queue int8, p_now int8, \(selection))
        RETURNS TABLE (job int8, effect int8) LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_now int8 := moment(p_now);
            v_jobs int8[] := \(selected);
            v_kept int8[];
            v_running int8[];
            v_pausing int8[];
            v_drafts draft[];
        BEGIN
            v_kept := ARRAY(SELECT id FROM \(jobs(in: "v_jobs")) WHERE NOT is_cancelled AND \(hasMember("NOT \(isMeant)")));
            PERFORM leave_lines(p_queue, v_jobs);
            WITH \(set("kept", of: "v_kept")), gone AS (
                DELETE FROM member USING kept WHERE member.queue = kept.queue AND member.job = kept.id AND \(isMeant)
                RETURNING member.job, position, user_name, batch)
            SELECT array_agg(ROW(job, position, 'left', user_name, batch)::draft) INTO v_drafts FROM gone;
            v_drafts := v_drafts || members_changed(p_queue, v_kept);
            v_jobs := ARRAY(SELECT unnest(v_jobs) EXCEPT SELECT unnest(v_kept) ORDER BY 1);
            v_running := ARRAY(SELECT id FROM \(jobs(in: "v_jobs")) WHERE state = 1);
            WITH \(set("running", of: "v_running"))
            UPDATE job SET is_cancelled = true FROM running WHERE job.queue = running.queue AND job.id = running.id;
            v_jobs := ARRAY(SELECT unnest(v_jobs) EXCEPT SELECT unnest(v_running) ORDER BY 1);
            WITH \(set("stopped", of: "v_jobs"))
            UPDATE job SET state = 4, ended = v_now, not_before = NULL FROM stopped
                WHERE job.queue = stopped.queue AND job.id = stopped.id;
            PERFORM record_all(p_queue, v_now, v_drafts || ARRAY(
                SELECT ROW(id, 0, 'cancelled', '', '')::draft FROM unnest(v_jobs) AS stopped (id)));
            v_pausing := ARRAY(SELECT id FROM \(jobs(in: "v_kept"))
                WHERE state = 1 AND NOT \(hasMember("NOT member.is_paused")));
            IF cardinality(v_running) + cardinality(v_pausing) > 0 THEN PERFORM wake(p_queue, 'stops'); END IF;
            RETURN QUERY SELECT unnest(v_jobs), 0::int8 UNION ALL SELECT unnest(v_running), 1::int8
                UNION ALL SELECT unnest(v_pausing), 2::int8 UNION ALL SELECT unnest(v_kept), 3::int8;
        END $$
        """,
        // Pauses members. Returns the jobs with effects, as cancel does.
        """
        CREATE FUNCTION pause(p_queue int8, p_now int8, \(selection))
        RETURNS TABLE (job int8, effect int8) LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_jobs int8[] := \(selected);
        BEGIN
            v_jobs := ARRAY(SELECT id FROM \(jobs(in: "v_jobs"))
                WHERE NOT is_cancelled AND \(hasMember("NOT member.is_paused")));
            PERFORM leave_lines(p_queue, v_jobs);
            WITH \(set("pausing", of: "v_jobs"))
            UPDATE member SET is_paused = true FROM pausing
                WHERE member.queue = pausing.queue AND member.job = pausing.id AND NOT is_paused AND \(isMeant);
            PERFORM record_all(p_queue, moment(p_now), members_changed(p_queue, v_jobs));
            RETURN QUERY SELECT id, CASE WHEN state = 6 THEN 0::int8
                    WHEN \(hasMember("NOT member.is_paused")) THEN 3::int8 ELSE 2::int8 END
                FROM \(jobs(in: "v_jobs"));
            IF EXISTS (SELECT FROM \(jobs(in: "v_jobs")) WHERE state = 1) THEN
                PERFORM wake(p_queue, 'stops');
            END IF;
        END $$
        """,
        // Resumes members, and returns the jobs that are no longer paused.
        """
        CREATE FUNCTION resume(p_queue int8, p_now int8, \(selection))
        RETURNS SETOF int8 LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_jobs int8[] := \(selected);
            v_resumed int8[];
        BEGIN
            v_jobs := ARRAY(SELECT id FROM \(jobs(in: "v_jobs")) WHERE NOT is_cancelled);
            v_resumed := ARRAY(SELECT id FROM \(jobs(in: "v_jobs")) WHERE NOT \(hasMember("NOT member.is_paused")));
            PERFORM leave_lines(p_queue, v_jobs);
            WITH \(set("resuming", of: "v_jobs"))
            UPDATE member SET is_paused = false FROM resuming
                WHERE member.queue = resuming.queue AND member.job = resuming.id AND is_paused AND \(isMeant);
            PERFORM record_all(p_queue, moment(p_now), members_changed(p_queue, v_jobs));
            IF cardinality(v_jobs) > 0 THEN PERFORM wake(p_queue); END IF;
            RETURN QUERY SELECT unnest(v_resumed);
        END $$
        """,
        // Changes the priority of members, and returns the number of jobs.
        """
        CREATE FUNCTION prioritize(p_queue int8, p_now int8, p_priority int8, \(selection))
        RETURNS int8 LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_jobs int8[] := \(selected);
        BEGIN
            PERFORM leave_lines(p_queue, v_jobs);
            WITH \(set("changing", of: "v_jobs"))
            UPDATE member SET priority = p_priority FROM changing
                WHERE member.queue = changing.queue AND member.job = changing.id AND priority <> p_priority AND \(isMeant);
            PERFORM record_all(p_queue, moment(p_now), members_changed(p_queue, v_jobs));
            RETURN cardinality(v_jobs);
        END $$
        """,
        // Makes ended jobs wait again, and returns them. Of those that write the same file, only the first.
        """
        CREATE FUNCTION retry(p_queue int8, p_now int8, \(selection))
        RETURNS SETOF int8 LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_jobs int8[] := \(selected);
        BEGIN
            v_jobs := ARRAY(SELECT min(id) FROM \(jobs(in: "v_jobs"))
                WHERE NOT EXISTS (SELECT FROM job AS other
                    WHERE sha256(other.target) = sha256(job.target)
                        AND \(machine("other.queue", "other.place")) = \(machine("job.queue", "job.place"))
                        AND other.target = job.target AND other.state IN (0, 1, 5, 6) OFFSET 0)
                GROUP BY place, target ORDER BY 1);
            WITH \(set("retried", of: "v_jobs"))
            UPDATE job SET state = 0, failures = 0, message = NULL, ended = NULL FROM retried
                WHERE job.queue = retried.queue AND job.id = retried.id;
            WITH \(set("retried", of: "v_jobs"))
            UPDATE member SET is_paused = false FROM retried
                WHERE member.queue = retried.queue AND member.job = retried.id AND is_paused;
            PERFORM join_lines(p_queue, v_jobs);
            PERFORM record_all(p_queue, moment(p_now), ARRAY(
                SELECT ROW(id, 0, 'retried', '', '')::draft FROM unnest(v_jobs) AS retried (id)));
            IF cardinality(v_jobs) > 0 THEN PERFORM wake(p_queue); END IF;
            RETURN QUERY SELECT unnest(v_jobs);
        END $$
        """,
        // Removes members of ended jobs, and the jobs that have no others. Returns the number of jobs with removed members.
        """
        CREATE FUNCTION remove(p_queue int8, p_now int8, \(selection))
        RETURNS int8 LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_jobs int8[] := \(selected);
            v_gone int8[];
        BEGIN
            v_gone := ARRAY(SELECT id FROM \(jobs(in: "v_jobs")) WHERE NOT \(hasMember("NOT \(isMeant)")));
            PERFORM delete_jobs(p_queue, v_gone);
            WITH \(set("listed", of: "v_jobs"))
            DELETE FROM member USING listed
                WHERE member.queue = listed.queue AND member.job = listed.id AND \(isMeant);
            WITH now AS MATERIALIZED (
                SELECT p_queue AS queue, listed.id, min(~member.priority) AS rank
                FROM unnest(v_jobs) AS listed (id) \(members(of: "listed.id")) GROUP BY listed.id)
            UPDATE job SET rank = now.rank FROM now
                WHERE job.queue = now.queue AND job.id = now.id AND job.rank <> now.rank;
            PERFORM record_all(p_queue, moment(p_now), ARRAY(
                SELECT ROW(id, 0, 'removed', '', '')::draft FROM unnest(v_gone) AS gone (id)));
            RETURN cardinality(v_jobs);
        END $$
        """,
    ]
}
#endif
